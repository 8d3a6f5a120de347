// What a file that someone opens or drops is.
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
  NcclTests
};

/// Recordings by how they begin; PyTorch's pipeline CSV and Megatron's layout by their endings .csv
/// and .txt (a .csv with the head of a report of nsys stats is a trace); documents by their
/// "schema"; JSON without one is taken for a model's config, and so is a folder. Throws
/// Error{InvalidInput} when it cannot be read, is not JSON, or is a document of ours that the
/// window cannot open.
FileKind file_kind(const std::string& path);

}  // namespace trainyard
