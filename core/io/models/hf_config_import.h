// This file reads a Hugging Face config.json as a Model: the fields of each model_type, the
// defaults that its class documents, and an exact parameter count without the weights.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/model/model.h"

namespace trainyard {

/// An ImportReport says what became of the file's keys: "all 27 fields recognised", or which were
/// not.
struct ImportReport {
  int fields = 0;                    // number of keys of the object that was read
  std::vector<std::string> unknown;  // keys that are not known; they change nothing
  std::string sentence() const;
};

struct ImportedModel {
  Model model;
  ImportReport report;
};

/// Returns the model_types that can be read.
const std::vector<std::string>& hf_model_types();

/// place is the file's path; the model is named after its folder (or the file, unless that is
/// config.json). Keys that the file leaves out take the documented default of their class and are
/// listed in Model::assumed. Throws Error{InvalidInput} at "PLACE#/key" for malformed JSON, an
/// unknown model_type (with the nearest), and impossible values: zero, negative, too large, of
/// another type, heads that do not divide.
/// A multimodal config gives its language part and, if it is of the families of vision_families(),
/// the vision tower in front of it.
ImportedModel import_hf_config_with_report(std::string_view text, std::string_view place);
Model import_hf_config(std::string_view text, std::string_view place);

}  // namespace trainyard
