// All eigenvalues of a small symmetric matrix by Jacobi's rotations, for tests of what finds one.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace trainyard::testing {

class SquareMatrix {
 public:
  explicit SquareMatrix(std::size_t size) : size_(size), values_(size * size) {}
  std::size_t size() const { return size_; }
  double& at(std::size_t i, std::size_t j) { return values_[i * size_ + j]; }
  double at(std::size_t i, std::size_t j) const { return values_[i * size_ + j]; }

 private:
  std::size_t size_;
  std::vector<double> values_;
};

inline std::vector<double> eigenvalues(SquareMatrix m) {
  const std::size_t n = m.size();
  for (int sweep = 0; sweep < 60; ++sweep) {
    double off = 0;
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        off += m.at(p, q) * m.at(p, q);
        if (m.at(p, q) == 0) continue;
        const double theta = (m.at(q, q) - m.at(p, p)) / (2 * m.at(p, q));
        const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (std::size_t k = 0; k < n; ++k) {
          const double x = m.at(k, p), y = m.at(k, q);
          m.at(k, p) = c * x - s * y, m.at(k, q) = s * x + c * y;
        }
        for (std::size_t k = 0; k < n; ++k) {
          const double x = m.at(p, k), y = m.at(q, k);
          m.at(p, k) = c * x - s * y, m.at(q, k) = s * x + c * y;
        }
      }
    if (off < 1e-24) break;
  }
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(m.at(i, i));
  return values;
}

}  // namespace trainyard::testing
