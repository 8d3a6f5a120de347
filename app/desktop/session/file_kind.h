// Recognises the kind of a file that the user opens or drops.
#pragma once

#include <string>

namespace trainyard {

enum class FileKind {
  Project,
  Model,
  Cluster,
  Plan,
  Calibration,  // or a profile: measured prices
  Pipeline,
  Trace,
  Snapshot,
  NcclTests,
  Report  // a benchmark report
};

/// Recordings are recognised by their beginning; PyTorch's pipeline CSV and Megatron's layout by
/// their extensions .csv and .txt (but a .csv with the header of an nsys stats report is a trace);
/// documents by their "schema". JSON without a schema, and a folder, are taken for a model's
/// config. Throws Error{InvalidInput} if the file cannot be read, is not JSON, or is a Trainyard
/// document that the window cannot open.
FileKind file_kind(const std::string& path);

}  // namespace trainyard
