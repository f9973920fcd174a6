"""Cycles that are predicted of a program, and those that it takes."""

from differential import parsed, printed, steps_of
from xdsl.dialects import func

from tlf.compiler.driver.pass_manager import PassManager
from tlf.dialects.target import TargetSpec
from tlf.planner.cost.program.cycle_estimate import estimate_function
from tlf.runtime import npu


def predicted_and_taken(text: str, target: TargetSpec) -> tuple[float, float]:
    """
    Predict the cycles of a program before it has buffers and instructions, and run it.
    """
    context, module = parsed(text)
    target.attach(module)
    steps = steps_of(target)
    at = [each.name for each in steps].index("convert-tile-to-mem")
    PassManager(steps[:at]).run(context, module)
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    told = estimate_function(function, target).cycles
    PassManager(steps[at:]).run(context, module)
    report = npu.run(npu.parse(printed(context, module, target)), {}, functional=False)
    return told, report.cycles
