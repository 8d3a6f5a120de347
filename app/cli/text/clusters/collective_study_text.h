// Words what `trainyard hardware --collectives` measured between processes: a table with sentences,
// or one trainyard/collectives document.
#pragma once

#include <string>

#include "core/cost/collectives/collective_study.h"
#include "core/io/json/json.h"

namespace trainyard {

std::string collective_study_text(const CollectiveStudy&);
Json collectives_schema();
std::string collective_study_document(const CollectiveStudy&);

}  // namespace trainyard
