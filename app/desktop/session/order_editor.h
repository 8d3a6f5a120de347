// An OrderEditor edits the plan's order: a legal edit becomes an undo step and is simulated like
// any other change; an illegal one changes nothing, and one line says what it would break.
#pragma once

#include <QObject>
#include <QString>

#include <optional>

#include "app/desktop/session/document.h"
#include "app/desktop/session/session.h"
#include "core/program/order_edit.h"

namespace trainyard {

class OrderEditor : public QObject {
  Q_OBJECT

 public:
  OrderEditor(Document&, Session&, QObject* parent = nullptr);

  /// Returns whether something has been simulated, so that there is an order to edit.
  bool available() const { return session_.experiment() != nullptr; }
  /// The newest order: an edit shows here before it has been simulated. Requires available().
  Order order() const;
  /// The plan's own order as text; empty if it uses that of its schedule.
  std::string own() const;
  /// Returns whether the plan has an order of its own.
  bool edited() const;
  /// Why the last edit was refused, or why the plan's order is no longer valid; empty if neither
  /// applies.
  const QString& reason() const { return reason_; }

  /// Returns true if the document was changed.
  bool move(const Action&, Slot to);
  bool apply_text(const QString&);
  void back();

 Q_SIGNALS:
  void changed();

 private:
  bool take(const QString& text, const Order&);
  bool refuse(const QString& why);
  void refresh();

  Document& document_;
  Session& session_;
  QString reason_;
};

}  // namespace trainyard
