// Tables under the picture that read the run: what is alive at an instant, what the waves of memory
// do over a range, where the critical path spent its time.
#pragma once

#include <QString>

#include "app/desktop/session/exploration.h"

class QTreeWidget;

namespace trainyard {

/// Each is made empty and filled anew by what follows; the result names the tab.
QTreeWidget* make_alive_table();
/// What is pinned, else the cursor of the selected rank, else the peak. Rows carry their buffer in
/// Qt::UserRole of column 0.
QString fill_alive(QTreeWidget*, const Session&, const Exploration&);

QTreeWidget* make_wave_table();
/// A row a device, over the range.
QString fill_waves(QTreeWidget*, const Session&);

QTreeWidget* make_path_table();
/// A row each part of the step; they sum to it.
QString fill_path(QTreeWidget*, const Session&);

}  // namespace trainyard
