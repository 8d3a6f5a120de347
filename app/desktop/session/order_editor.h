// Edits of the plan's order: a legal one becomes a step of undo and is simulated like any other
// change, an illegal one leaves everything as it is and says in one line what it would break.
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

  /// Something has been simulated, so that there is an order to edit.
  bool available() const { return session_.experiment() != nullptr; }
  /// The newest: an edit is seen here before it has been simulated. Only when available.
  Order order() const;
  /// The plan's own order as text; empty: its schedule's.
  std::string own() const;
  /// The plan has an order of its own.
  bool edited() const;
  /// Why the last edit was refused, or why the plan's order no longer holds; empty: all is well.
  const QString& reason() const { return reason_; }

  /// True: the document has it.
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
