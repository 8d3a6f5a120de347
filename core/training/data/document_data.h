// DocumentData is a source whose samples are documents of another source, packed or padded as a
// DocumentStream says. A document is the beginning of a sample of the other source.
#pragma once

#include <memory>

#include "core/training/data/document_stream.h"
#include "core/training/data_source.h"

namespace trainyard {

/// Returns a source over the other one, which must outlive it. Positions begin at 0 in every
/// document; padding has the row 0 of tables and kPaddingLabel as its label.
std::unique_ptr<DataSource> document_data(const DataSource&, DocumentStream);

}  // namespace trainyard
