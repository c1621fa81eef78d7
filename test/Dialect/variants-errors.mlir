// RUN: updraft-opt %s -split-input-file -verify-diagnostics

// variants_c1

// expected-error @+1 {{'updraft.variants' op must have at least two forms, and at most one of them in `vectors`}}
updraft.variants vectors {
  updraft.rule @R compute f32 {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
  updraft.rule @S compute f32 {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
} matrices {
  updraft.rule @R_matrix compute f32 matrix {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
}

// -----

// variants_c1

updraft.variants vectors {
  // expected-error @+1 {{'updraft.rule' op in `vectors` has `matrix`}}
  updraft.rule @R compute f32 matrix {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
} matrices {
  updraft.rule @R_matrix compute f32 matrix {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
}

// -----

// variants_c1

updraft.variants vectors {
  updraft.rule @R compute f32 {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
} matrices {
  // expected-error @+1 {{'updraft.rule' op in `matrices` must have `matrix`}}
  updraft.rule @R_matrix compute f32 {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
}

// -----

// variants_c1

// expected-error @+1 {{'updraft.variants' op must have only `updraft.rule` or only `updraft.plan`}}
updraft.variants vectors {
  updraft.rule @R compute f32 {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
} matrices {
  updraft.plan @R_matrix compute f32 matrix {
    %p = updraft.stream "param" : !updraft.stream<f32>
    %g = updraft.stream "grad" : !updraft.stream<f32>
    updraft.initial() {
      updraft.yield
    }
    updraft.validate() messages [] {
      updraft.yield
    }
  }
}

// -----

// variants_c2

updraft.variants vectors {
  updraft.rule @R compute f32 {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
} matrices {
  // expected-error @+1 {{'updraft.rule' op must have the compute type and numerics of @R}}
  updraft.rule @R_matrix compute f32 matrix fast {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
}

// -----

// variants_c2

updraft.variants vectors {
  updraft.rule @R compute f32 {
    %lr = updraft.hyper "lr" = 1.000000e-03
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
} matrices {
  // expected-error @+1 {{'updraft.rule' op has the hyperparameter "lr" of another type or value than `vectors`}}
  updraft.rule @R_matrix compute f32 matrix {
    %lr = updraft.hyper "lr" = 2.000000e-03
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
}

// -----

// variants_c3

updraft.variants vectors {
  updraft.rule @R compute f32 {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    %c = arith.constant 0.000000e+00 : f64
    %m = updraft.state "m" stored f32 initial %c : f32
    updraft.next %g, %m : f32, f32
  }
} matrices {
  // expected-error @+1 {{'updraft.rule' op has the state "m" of another type or value than `vectors`}}
  updraft.rule @R_matrix compute f32 matrix {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    %c = arith.constant 0.000000e+00 : f64
    %m = updraft.state "m" stored bf16 initial %c : f32
    updraft.next %g, %m : f32, f32
  }
}

// -----

// variants_c3: both have `m` and `v`, in another order

updraft.variants vectors {
  updraft.rule @R compute f32 {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    %c = arith.constant 0.000000e+00 : f64
    %m = updraft.state "m" stored f32 initial %c : f32
    %v = updraft.state "v" stored f32 initial %c : f32
    updraft.next %g, %m, %v : f32, f32, f32
  }
} matrices {
  // expected-error @+1 {{'updraft.rule' op has the state "v" where `vectors` has "m"}}
  updraft.rule @R_matrix compute f32 matrix {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    %c = arith.constant 0.000000e+00 : f64
    %v = updraft.state "v" stored f32 initial %c : f32
    %m = updraft.state "m" stored f32 initial %c : f32
    updraft.next %g, %v, %m : f32, f32, f32
  }
}

// -----

// variants_c2

updraft.variants vectors {
  updraft.rule @R compute f32 {
    %lr = updraft.hyper "lr" = 1.000000e-03
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
} matrices {
  // expected-error @+1 {{'updraft.rule' op has the requirement "lr is negative" where `vectors` has ""}}
  updraft.rule @R_matrix compute f32 matrix {
    %lr = updraft.hyper "lr" = 1.000000e-03
    %c = arith.constant 0.000000e+00 : f64
    %ok = arith.cmpf oge, %lr, %c : f64
    updraft.require %ok, "lr is negative"
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
}

// -----

// variants_c4

updraft.variants vectors {
  updraft.rule @R compute f32 {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
} matrices {
  // expected-error @+1 {{'updraft.rule' op has the name @R, must be @R_matrix}}
  updraft.rule @R compute f32 matrix {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
}

// -----

// variants_c1: no form for matrices

// expected-error @+1 {{'updraft.variants' op must have at least two forms, and at most one of them in `vectors`}}
updraft.variants vectors {
  updraft.rule @R compute f32 {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
} matrices {
}

// -----

// variants_c1: one form

// expected-error @+1 {{'updraft.variants' op must have at least two forms, and at most one of them in `vectors`}}
updraft.variants vectors {
} matrices {
  updraft.rule @R compute f32 matrix {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
}

// -----

// variants_c4: a shape has two forms

updraft.variants vectors {
  updraft.rule @R compute f32 {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
} matrices {
  updraft.rule @R_wide_square compute f32 matrix shapes wide|square {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
  // expected-error @+1 {{'updraft.rule' op is for a shape of matrices that another form is for, too}}
  updraft.rule @R_square_tall compute f32 matrix shapes square|tall {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
}

// -----

// variants_c4: two forms for all matrices

updraft.variants vectors {
  updraft.rule @R compute f32 {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
} matrices {
  updraft.rule @R_matrix compute f32 matrix {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
  // expected-error @+1 {{'updraft.rule' op is for a shape of matrices that another form is for, too}}
  updraft.rule @R_tall compute f32 matrix shapes tall {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
}

// -----

// variants_c4: a shape has no form

// expected-error @+1 {{'updraft.variants' op has no form for matrices of the shape `square|tall`}}
updraft.variants vectors {
  updraft.rule @R compute f32 {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
} matrices {
  updraft.rule @R_wide compute f32 matrix shapes wide {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
}

// -----

// variants_c4: without vectors

updraft.variants vectors {
} matrices {
  updraft.rule @R_wide_square compute f32 matrix shapes wide|square {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
  // expected-error @+1 {{'updraft.rule' op has the name @R_tall, must be @R_wide_square_tall}}
  updraft.rule @R_tall compute f32 matrix shapes tall {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
}

// -----

// variants_c4: name of shapes

updraft.variants vectors {
  updraft.rule @R compute f32 {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
} matrices {
  // expected-error @+1 {{'updraft.rule' op has the name @R_matrix, must be @R_wide_square}}
  updraft.rule @R_matrix compute f32 matrix shapes wide|square {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
  updraft.rule @R_tall compute f32 matrix shapes tall {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
}

// -----

// variants_c3: the forms of matrices have the same states

updraft.variants vectors {
  updraft.rule @R compute f32 {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
} matrices {
  updraft.rule @R_wide_square compute f32 matrix shapes wide|square {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    %c = arith.constant 0.000000e+00 : f64
    %m = updraft.state "m" stored f32 initial %c : f32
    updraft.next %g, %m : f32, f32
  }
  // expected-error @+1 {{'updraft.rule' op has the state "" where `vectors` has "m"}}
  updraft.rule @R_tall compute f32 matrix shapes tall {
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    updraft.next %g : f32
  }
}
