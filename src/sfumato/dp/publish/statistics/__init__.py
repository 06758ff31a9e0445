"""Statistics of graphs, trees and sets: counts whose noise fits the unit that is hidden."""
