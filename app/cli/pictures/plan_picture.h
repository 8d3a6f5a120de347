// Draws a search as a picture: every legal plan by memory and step time.
#pragma once

#include "app/cli/text/plans/plan_text.h"
#include "app/cli/verb.h"

namespace trainyard {

/// Writes the files of --svg and --png; does nothing without them. Throws Error{Io}.
void write_search_pictures(const PlanAnswer&, const Words&, Streams&);

}  // namespace trainyard
