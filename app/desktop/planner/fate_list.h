// A FateList counts what became of every plan of a search: one row per fate, with its count as a
// bar. Choosing a row filters the plans.
#pragma once

#include <QWidget>

#include <optional>

#include "planners/plans/plan_search.h"

class QTreeWidget;

namespace trainyard {

class FateList : public QWidget {
  Q_OBJECT

 public:
  explicit FateList(QWidget* parent = nullptr);
  /// Null: shows an empty list.
  void show_counts(const SearchResult*);
  std::optional<Fate> chosen() const { return chosen_; }
  void clear_choice();

 Q_SIGNALS:
  void changed();

 private:
  QTreeWidget* table_;
  std::optional<Fate> chosen_;
};

/// The text of a row, such as "layers do not divide".
QString fate_words(Fate);

}  // namespace trainyard
