#include "app/desktop/shell/model_commands.h"

#include <QAction>

#include "app/desktop/design/design_page.h"
#include "app/desktop/design/model_builder.h"
#include "app/desktop/design/model_panel.h"
#include "app/desktop/design/model_tree.h"
#include "app/desktop/shell/commands.h"

namespace trainyard {

void connect_model_commands(Actions& actions, DesignPage& page) {
  ModelBuilder& builder = page.builder();
  // Delete and the arrow keys belong to the widget with the focus.
  const auto own = [&](const char* id) {
    QAction* action = actions[id];
    action->setShortcutContext(Qt::WidgetShortcut);
    page.model_panel().tree()->addAction(action);
    return action;
  };
  const auto on = [&](const char* id, auto run) {
    QObject::connect(own(id), &QAction::triggered, &page, run);
  };
  own("model.add");  // the window itself adds, because there may be no model yet
  on("model.remove", [&builder] { builder.remove(); });
  on("model.duplicate", [&builder] { builder.duplicate(); });
  on("model.up", [&builder] { builder.move(-1); });
  on("model.down", [&builder] { builder.move(+1); });
  on("model.split", [&builder] { builder.split_off(); });
}

}  // namespace trainyard
