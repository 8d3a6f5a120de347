// The price of a device-hour in US dollars: how it is written, and a cluster at another price.
#pragma once

#include <string_view>

#include "core/cluster/cluster.h"

namespace trainyard {

/// Reads "2.5USD/h". Throws Error{InvalidInput} without the unit, and for what is not above 0.
double parse_price(std::string_view text);
/// Returns the shortest text that parse_price() reads as this very price.
std::string price_text(double price);

/// Returns the same cluster at this price, which becomes part of a name that says all about the
/// cluster. Throws Error{InvalidInput} where the cluster's name states a price already.
Cluster with_price(const Cluster&, double price);

}  // namespace trainyard
