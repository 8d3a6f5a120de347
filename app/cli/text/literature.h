// A person may ask for more by name than verbs, topics and methods have: a setting of a plan or one
// of its words, a setting of training, or what a paper calls something that has another name here.
#pragma once

#include <string>
#include <string_view>

namespace trainyard {

/// Says where such a name leads, with the line to type and what it may be set to; "" where the name
/// leads nowhere. Case does not count.
std::string where_it_leads(std::string_view name);

/// Every setting of training with its sentence and its value, one on a line.
std::string training_settings();

}  // namespace trainyard
