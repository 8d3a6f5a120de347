// Writes a memory snapshot as a document, trainyard/snapshot@1, and as the model that its view
// draws.
#pragma once

#include <string>

#include "app/workspace/comparison/snapshot_diagnosis.h"
#include "core/io/json/json.h"
#include "visualizers/snapshot/snapshot_view.h"

namespace trainyard {

/// Without a prediction, the document contains the findings only.
Json snapshot_schema();
std::string snapshot_document(const MemorySnapshot&, const SnapshotDiagnosis&);
SnapshotModel snapshot_model(const SnapshotDiagnosis&);

}  // namespace trainyard
