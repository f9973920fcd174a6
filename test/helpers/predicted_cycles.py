"""Estimated and simulated cycles of a program."""

from differential import parsed, printed, steps_of
from xdsl.dialects import func

from tlf.compiler.driver.pass_manager import PassManager
from tlf.dialects.target import TargetSpec
from tlf.planner.cost.program.cycle_estimate import estimate_function_cycles
from tlf.runtime import npu


def predicted_and_taken(text: str, target: TargetSpec) -> tuple[float, float]:
    """Return the cycles estimated from the tile loops, and the simulated cycles."""
    context, module = parsed(text)
    target.attach_to_module(module)
    steps = steps_of(target)
    split = [each.name for each in steps].index("convert-tile-to-mem")
    PassManager(steps[:split]).run(context, module)
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    estimate = estimate_function_cycles(function, target).cycles
    PassManager(steps[split:]).run(context, module)
    report = npu.run(npu.parse(printed(context, module, target)), {}, functional=False)
    return estimate, report.cycles
