// ClusterNumbers shows every number of the cluster with its source, for editing: this is how a user
// describes an accelerator or a network that is not sold yet. An edited cluster becomes the
// project's own.
#pragma once

#include "app/desktop/session/document.h"
#include "app/desktop/tables/field_table.h"

namespace trainyard {

class ClusterNumbers : public FieldTable {
  Q_OBJECT

 public:
  explicit ClusterNumbers(Document&, QWidget* parent = nullptr);
  /// Sets one field; an error is shown under it. The form above the numbers uses it too.
  void set(const QString& key, const QString& value);

 private:
  void refresh();
  Document& document_;
};

}  // namespace trainyard
