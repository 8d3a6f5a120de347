// What a file that someone opens or drops is.
#pragma once

#include <string>

namespace trainyard {

enum class FileKind { Project, Model, Cluster, Plan, Trace, Snapshot, NcclTests };

/// Recordings by how they begin; documents by their "schema"; JSON without one is taken for a
/// model's config, and so is a folder. Throws Error{InvalidInput} when it cannot be read, is not
/// JSON, or is a document of ours that the window cannot open.
FileKind file_kind(const std::string& path);

}  // namespace trainyard
