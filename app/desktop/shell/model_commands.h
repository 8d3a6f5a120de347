// The commands of the model builder: in menu, palette and shortcut sheet as all others, and by key
// where the outline has the focus.
#pragma once

namespace trainyard {

class Actions;
class DesignPage;

void connect_model_commands(Actions&, DesignPage&);

}  // namespace trainyard
