// A 1x1 and a 3x3 convolution with a skip, by strips of two rows. Windows of rows that
// overlap the next strip rest in L2 as carried values, so that every row is read from L3
// once and nothing is computed twice. With two stages the windows have room for the rows
// of the next strip, which are read ahead.
func.func @rolling_bottleneck(
    %x: tensor<1x16x17x20xf32>, %w1: tensor<4x16x1x1xf32>, %b1: tensor<1x4x1x1xf32>,
    %w2: tensor<16x4x3x3xf32>) -> tensor<1x16x17x20xf32> {
  %near1 = tile.slice %w1[0, 0, 0, 0]
      : tensor<4x16x1x1xf32> -> tensor<4x16x1x1xf32, #tile.encoding<L2>>
  %bias1 = tile.slice %b1[0, 0, 0, 0]
      : tensor<1x4x1x1xf32> -> tensor<1x4x1x1xf32, #tile.encoding<L2>>
  %near2 = tile.slice %w2[0, 0, 0, 0]
      : tensor<16x4x3x3xf32> -> tensor<16x4x3x3xf32, #tile.encoding<L2>>
  %e = tile.empty : tensor<1x16x17x20xf32>

  // Before the first strip: rows up to 0. Those above the image are zero, not relu(b1).
  %x_first = tile.slice %x[0, 0, -2, 0] fill 0.0 : f32
      : tensor<1x16x17x20xf32> -> tensor<1x16x3x20xf32, #tile.encoding<L2>>
  %x_above = tile.slice %x[0, 0, -3, 0] fill 0.0 : f32
      : tensor<1x16x17x20xf32> -> tensor<1x16x4x20xf32, #tile.encoding<L2>>
  %c_first = graph.conv2d %x_above, %near1
      : (tensor<1x16x4x20xf32, #tile.encoding<L2>>, tensor<4x16x1x1xf32, #tile.encoding<L2>>)
      -> tensor<1x4x4x20xf32, #tile.encoding<L2>>
  %a_first = graph.add %c_first, %bias1
      : (tensor<1x4x4x20xf32, #tile.encoding<L2>>, tensor<1x4x1x1xf32, #tile.encoding<L2>>)
      -> tensor<1x4x4x20xf32, #tile.encoding<L2>>
  %r_first = graph.relu %a_first : tensor<1x4x4x20xf32, #tile.encoding<L2>>
  %t_first = tile.mask %r_first[0, 0, -3, 0] bounds [1, 4, 17, 20] fill 0.0 : f32
      : tensor<1x4x4x20xf32, #tile.encoding<L2>>

  %y, %xs, %ts = tile.while (%i = 0 to 17 step 2) sequential mapping(loop) stages(2)
      carry(%o = %e : tensor<1x16x17x20xf32>,
            %x_window = %x_first : tensor<1x16x3x20xf32, #tile.encoding<L2>>,
            %t_window = %t_first : tensor<1x4x4x20xf32, #tile.encoding<L2>>) {
    // The next two rows of the image, one ahead of the strip.
    %next = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
    %x_next = tile.slice %x[0, 0, %next, 0] fill 0.0 : f32
        : tensor<1x16x17x20xf32> -> tensor<1x16x2x20xf32, #tile.encoding<L2>>
    %c = graph.conv2d %x_next, %near1
        : (tensor<1x16x2x20xf32, #tile.encoding<L2>>, tensor<4x16x1x1xf32, #tile.encoding<L2>>)
        -> tensor<1x4x2x20xf32, #tile.encoding<L2>>
    %a = graph.add %c, %bias1
        : (tensor<1x4x2x20xf32, #tile.encoding<L2>>, tensor<1x4x1x1xf32, #tile.encoding<L2>>)
        -> tensor<1x4x2x20xf32, #tile.encoding<L2>>
    %r = graph.relu %a : tensor<1x4x2x20xf32, #tile.encoding<L2>>
    %t_next = tile.mask %r[0, 0, %next, 0] bounds [1, 4, 17, 20] fill 0.0 : f32
        : tensor<1x4x2x20xf32, #tile.encoding<L2>>

    // The windows move on: rows i to i + 2 of the image, i - 1 to i + 2 of the middle.
    %xw = tile.roll %x_window, %x_next axis 2
        : tensor<1x16x3x20xf32, #tile.encoding<L2>>, tensor<1x16x2x20xf32, #tile.encoding<L2>>
    %tw = tile.roll %t_window, %t_next axis 2
        : tensor<1x4x4x20xf32, #tile.encoding<L2>>, tensor<1x4x2x20xf32, #tile.encoding<L2>>

    %d = graph.conv2d %tw, %near2 padding [0, 1, 0, 1]
        : (tensor<1x4x4x20xf32, #tile.encoding<L2>>, tensor<16x4x3x3xf32, #tile.encoding<L2>>)
        -> tensor<1x16x2x20xf32, #tile.encoding<L2>>
    %skip = tile.slice %xw[0, 0, 0, 0]
        : tensor<1x16x3x20xf32, #tile.encoding<L2>> -> tensor<1x16x2x20xf32, #tile.encoding<L2>>
    %s = graph.add %d, %skip
        : (tensor<1x16x2x20xf32, #tile.encoding<L2>>, tensor<1x16x2x20xf32, #tile.encoding<L2>>)
        -> tensor<1x16x2x20xf32, #tile.encoding<L2>>
    %z = graph.relu %s : tensor<1x16x2x20xf32, #tile.encoding<L2>>
    %n = tile.deslice %z into %o[0, 0, %i, 0]
        : tensor<1x16x2x20xf32, #tile.encoding<L2>> into tensor<1x16x17x20xf32>
    tile.yield %n, %xw, %tw : tensor<1x16x17x20xf32>,
        tensor<1x16x3x20xf32, #tile.encoding<L2>>, tensor<1x4x4x20xf32, #tile.encoding<L2>>
  }
  func.return %y : tensor<1x16x17x20xf32>
}
