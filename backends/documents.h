// This file has what backends that execute need where samples are documents: the data they read,
// and the bounds that attention, rotary positions and losses are given.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "backends/backend.h"
#include "core/training/data/document_stream.h"

namespace trainyard {

/// Returns the stream that a run of this seed trains on; empty where a sample is one text.
std::optional<DocumentStream> document_stream(const Workload&, std::uint64_t seed);
/// Returns the job's data as documents of that stream; null where a sample is one text, or where
/// nothing is trained. The job's data must outlive it.
std::unique_ptr<DataSource> documents_of(const BackendJob&);
/// Returns whether the maths of the op depends on the bounds of documents.
bool reads_documents(const Node&);
/// Adds everything about the model or the data that keeps samples from being documents. `who`
/// begins the sentences: "a local run", "the reference".
void check_documents(const BackendJob&, std::string_view who, Diagnostics&);

}  // namespace trainyard
