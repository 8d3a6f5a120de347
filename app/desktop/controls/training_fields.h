// Fields that ask how something is trained on this machine.
#pragma once

#include <string>

#include "app/desktop/controls/widgets.h"

namespace trainyard {

class WordList;

/// The data sources whose data are here, after a first item that leaves the choice to the model's
/// family.
Field* make_data_field(const QString& accessible_name);
/// The name of the chosen data source; empty where it is the family's.
std::string data_in(const Field&);

/// Settings of training, such as "rate=0.01".
WordList* make_training_list();

}  // namespace trainyard
