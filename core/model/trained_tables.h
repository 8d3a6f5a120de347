// Trained tables: a plan may train embedding tables as tensor trains (core/model/tensor_train.h).
// The model then has three small cores in place of each such table, which the user never sees:
// as_given() of trained_parts returns the model with its tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/model/model.h"
#include "core/model/tensor_train.h"

namespace trainyard {

struct TableTrainSpec {
  std::int64_t rank = 16;          // most of both ranks, >= 1
  std::int64_t least_rows = 1000;  // of a table that is trained as cores
  std::int64_t hot_rows = 0;       // of a microbatch, made once for all of their look-ups; 0 = none
  double zipf = 1;                 // exponent of the law by which rows are looked up, > 0
  TrainStart start = TrainStart::Normalised;
};

/// An OwnTable is an embedding table that one look-up alone reads and that no other block shares:
/// one that may be trained as cores. Tables of positions are none.
struct OwnTable {
  int block = 0;
  std::string name;  // of its node, as "tables.3"
  TensorId ids;      // which rows are looked up, a tensor of the block
  std::int64_t rows = 0, width = 0;
};
std::vector<OwnTable> own_tables(const Model&);

/// Returns the model with cores in place of every table that has at least that many rows, that no
/// other block shares, and that its cores make smaller. Tables of positions stay. Throws
/// Error{InvalidInput} at `place` where no table is such, with the largest that there is.
Model with_table_trains(Model, const TableTrainSpec&, const Place&);

/// Returns the model with its tables again.
Model without_table_trains(Model);

/// Returns whether the node looks up rows of cores.
bool is_table_train(const Node&);

/// A TrainedTable is a table of the model that is trained as cores.
struct TrainedTable {
  int block = 0;
  std::string name;  // of its node, as "tables.3"
  TensorTrain train;
  std::int64_t hot_rows = 0;
  double hit_share = 0;  // of look-ups that a cache of the hot rows of the whole table would serve
};
std::vector<TrainedTable> trained_tables(const Model&);

/// Says of each of them how much smaller its cores are, and which share of look-ups its hot rows
/// take by Zipf's law; a sentence each.
std::vector<std::string> table_sentences(const Model&);

/// Returns the node that reads the parameter as one of its cores; null where it is none.
const Node* train_of_core(const Graph&, TensorId parameter);

}  // namespace trainyard
