// Measures on this machine what threads gain that share weights without locks.
#pragma once

#include "core/training/hogwild_study.h"

namespace trainyard {

/// Blocks. In each round every row is measured once, so that a drift of the machine meets all
/// alike. Throws Error{Cancelled} when stopped, and Error{InvalidInput} where a sample is to have
/// more features than there are.
HogwildStudy measure_hogwild(const HogwildQuestion&);

}  // namespace trainyard
