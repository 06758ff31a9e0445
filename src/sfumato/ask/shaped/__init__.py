"""Sessions on data that are no table: statistics of graphs, trees and sets under a budget."""
