// A study of sharpness as text.
#pragma once

#include <string>

#include "app/workspace/runs/sharpness/sharpness_study.h"

namespace trainyard {

std::string sharpness_text(const SharpnessAnswer&);

}  // namespace trainyard
