// The tables under the picture that read the run: what is alive at an instant, how memory behaves
// over a range, and where the critical path spent its time.
#pragma once

#include <QString>

#include "app/desktop/session/exploration.h"

class QTreeWidget;

namespace trainyard {

/// Each table is made empty and then filled by the function that follows, which returns the title
/// of the tab.
QTreeWidget* make_alive_table();
/// Shows what is pinned, else the selected rank at the cursor, else at the peak. Rows store their
/// buffer in Qt::UserRole of column 0.
QString fill_alive(QTreeWidget*, const Session&, const Exploration&);

QTreeWidget* make_wave_table();
/// One row per device, over the range.
QString fill_waves(QTreeWidget*, const Session&);

QTreeWidget* make_path_table();
/// One row per part of the step; the parts sum to the step.
QString fill_path(QTreeWidget*, const Session&);

}  // namespace trainyard
