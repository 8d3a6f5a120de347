// A study of sharpness as text, as a document and as a picture.
#pragma once

#include <string>

#include "app/workspace/runs/sharpness_study.h"
#include "core/io/json/json.h"
#include "visualizers/drawing/drawing.h"

namespace trainyard {

std::string sharpness_text(const SharpnessAnswer&);
/// A trainyard/sharpness document.
std::string sharpness_document(const SharpnessAnswer&);
Json sharpness_schema();
/// The loss along both lines of the slice.
Drawing sharpness_picture(const SharpnessAnswer&);

}  // namespace trainyard
