func.func @f(%x: vector<4xf32>) -> f32 {
  %c = arith.constant 0 : index
  %0 = vector.reduction <add>, %x : vector<4xf32> into f32
  %1 = math.powf %0, %0 fastmath<fast> : f32
  return %1 : f32
}
module @inner attributes {updraft.odd = dense<[0x7FC00000, 1.0]> : tensor<2xf32>} {
}
