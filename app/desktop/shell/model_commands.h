// Connects the commands of the model builder, which are in the menu, palette and shortcut sheet
// like all others, and act by key while the outline has the focus.
#pragma once

namespace trainyard {

class Actions;
class DesignPage;

void connect_model_commands(Actions&, DesignPage&);

}  // namespace trainyard
