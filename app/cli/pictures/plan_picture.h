// A search as a picture: every legal plan by memory and step time.
#pragma once

#include "app/cli/text/plan_text.h"
#include "app/cli/verb.h"

namespace trainyard {

/// What --svg and --png ask for; nothing without them. Throws Error{Io}.
void write_search_pictures(const PlanAnswer&, const Words&, Streams&);

}  // namespace trainyard
