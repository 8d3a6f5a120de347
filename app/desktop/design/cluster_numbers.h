// Every number of the cluster with its source, to be changed: how one describes an accelerator or a
// network that nobody sells yet. The cluster is then the project's own.
#pragma once

#include "app/desktop/session/document.h"
#include "app/desktop/tables/field_table.h"

namespace trainyard {

class ClusterNumbers : public FieldTable {
  Q_OBJECT

 public:
  explicit ClusterNumbers(Document&, QWidget* parent = nullptr);
  /// Sets one field; what cannot be is said under it. Also used by the form above the numbers.
  void set(const QString& key, const QString& value);

 private:
  void refresh();
  Document& document_;
};

}  // namespace trainyard
