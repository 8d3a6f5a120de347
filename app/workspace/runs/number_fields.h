// The member "numbers" of a trainyard/run@1 document.
#pragma once

#include "core/io/json/fields.h"
#include "core/training/numbers/number_record.h"

namespace trainyard {

Fields<NumberRecord> number_fields();

}  // namespace trainyard
