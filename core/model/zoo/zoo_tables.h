// The tables of the zoo have one file each; zoo.cpp puts them together.
#pragma once

#include <vector>

#include "core/model/zoo/builders.h"
#include "core/model/zoo/zoo_entry.h"

namespace trainyard {

void append_transformers(std::vector<ZooEntry>&);
void append_recent_transformers(std::vector<ZooEntry>&);
void append_vision(std::vector<ZooEntry>&);    // vision-language models
void append_networks(std::vector<ZooEntry>&);  // convolutional and recurrent networks, perceptrons,
                                               // recommenders

}  // namespace trainyard
