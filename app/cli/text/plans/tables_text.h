// Writes the output of "trainyard tables" for a terminal.
#pragma once

#include <string>

#include "core/training/table_study.h"

namespace trainyard {

std::string tables_text(const TableStudy&);

}  // namespace trainyard
