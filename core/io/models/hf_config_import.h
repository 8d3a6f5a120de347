// A Hugging Face config.json as a Model: the fields of each model_type, the defaults its class
// documents, and an exact parameter count without the weights.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/model/model.h"

namespace trainyard {

/// What became of the file's keys: "all 27 fields recognised", or which were not.
struct ImportReport {
  int fields = 0;                    // keys of the object that was read
  std::vector<std::string> unknown;  // of them, those that we do not know; they change nothing
  std::string sentence() const;
};

struct ImportedModel {
  Model model;
  ImportReport report;
};

/// The model_types that can be read.
const std::vector<std::string>& hf_model_types();

/// place is the file's path: the model is named after its folder (or the file, unless that is
/// config.json). What the file leaves out takes the documented default of its class and is listed
/// in Model::assumed. Throws Error{InvalidInput} at "PLACE#/key" for JSON that is none, an unknown
/// model_type (with the nearest), and values that cannot be: zero, negative, too large, of another
/// type, heads that do not divide.
ImportedModel import_hf_config_with_report(std::string_view text, std::string_view place);
Model import_hf_config(std::string_view text, std::string_view place);

}  // namespace trainyard
