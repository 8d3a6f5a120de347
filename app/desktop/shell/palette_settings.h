#pragma once

#include "app/desktop/dialogs/palette_dialog.h"
#include "app/desktop/session/document.h"
#include "app/desktop/session/session.h"

namespace trainyard {

/// Returns all that --set takes for the current plan, the parameters of methods included, of which
/// the strategy panel has no rows; nothing without a plan. Both arguments must outlive the result.
PaletteSettings palette_settings(Document&, const Session&);

}  // namespace trainyard
