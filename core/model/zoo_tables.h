// The tables of the zoo have one file each; zoo.cpp puts them together.
#pragma once

#include <vector>

#include "core/model/builders.h"
#include "core/model/zoo_entry.h"

namespace trainyard {

void append_transformers(std::vector<ZooEntry>&);
void append_networks(std::vector<ZooEntry>&);  // convolutional and recurrent networks, perceptrons,
                                               // recommenders

}  // namespace trainyard
