"""Differential privacy: noise → mechanisms → sensitivity → accounting → budget.

The public names are listed here and loaded on first use. Usable alone: ``import sfumato.dp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:  # what a type checker sees; a test holds it against the table below
    from sfumato.dp import accounting as accounting
    from sfumato.dp import guarantees as guarantees
    from sfumato.dp import mechanisms as mechanisms
    from sfumato.dp import neighbours as neighbours
    from sfumato.dp import noise as noise
    from sfumato.dp import queries as queries
    from sfumato.dp import rounding as rounding
    from sfumato.dp.accounting.accountants import Account as Account
    from sfumato.dp.accounting.accountants import account as account
    from sfumato.dp.accounting.advanced import compose_advanced as compose_advanced
    from sfumato.dp.accounting.disjoint import Part as Part
    from sfumato.dp.accounting.disjoint import compose_parts as compose_parts
    from sfumato.dp.accounting.steps import Step as Step
    from sfumato.dp.accounting.subsampling import amplify as amplify
    from sfumato.dp.calibration import Calibration as Calibration
    from sfumato.dp.calibration import calibrate as calibrate
    from sfumato.dp.explanation import Explanation as Explanation
    from sfumato.dp.explanation import explain as explain
    from sfumato.dp.guarantees import GDP as GDP
    from sfumato.dp.guarantees import RDP as RDP
    from sfumato.dp.guarantees import ZCDP as ZCDP
    from sfumato.dp.guarantees import ApproxDP as ApproxDP
    from sfumato.dp.guarantees import Guarantee as Guarantee
    from sfumato.dp.guarantees import LocalDP as LocalDP
    from sfumato.dp.guarantees import PureDP as PureDP
    from sfumato.dp.learn.additive import AdditiveClassifier as AdditiveClassifier
    from sfumato.dp.learn.additive import AdditiveRegressor as AdditiveRegressor
    from sfumato.dp.learn.artefact import read_model as read_model
    from sfumato.dp.learn.linear import LinearRegression as LinearRegression
    from sfumato.dp.learn.logistic import LogisticRegression as LogisticRegression
    from sfumato.dp.learn.naive_bayes import NaiveBayes as NaiveBayes
    from sfumato.dp.learn.pca import PCA as PCA
    from sfumato.dp.learn.sgd.artefact import read_network as read_network
    from sfumato.dp.learn.sgd.training import Training as Training
    from sfumato.dp.learn.sgd.training import train as train
    from sfumato.dp.losses import pair_of as pair_of
    from sfumato.dp.mechanisms.above_threshold import AboveThreshold as AboveThreshold
    from sfumato.dp.mechanisms.base import Error as Error
    from sfumato.dp.mechanisms.base import Mechanism as Mechanism
    from sfumato.dp.mechanisms.exponential import Exponential as Exponential
    from sfumato.dp.mechanisms.gaussian import DiscreteGaussian as DiscreteGaussian
    from sfumato.dp.mechanisms.gaussian import Gaussian as Gaussian
    from sfumato.dp.mechanisms.laplace import Geometric as Geometric
    from sfumato.dp.mechanisms.laplace import Laplace as Laplace
    from sfumato.dp.mechanisms.noisy_max import ReportNoisyMax as ReportNoisyMax
    from sfumato.dp.mechanisms.permute_and_flip import PermuteAndFlip as PermuteAndFlip
    from sfumato.dp.mechanisms.pricing import Pricing as Pricing
    from sfumato.dp.mechanisms.quantiles import ExponentialQuantile as ExponentialQuantile
    from sfumato.dp.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
    from sfumato.dp.mechanisms.releases import above_threshold as above_threshold
    from sfumato.dp.mechanisms.releases import discrete_gaussian as discrete_gaussian
    from sfumato.dp.mechanisms.releases import exponential as exponential
    from sfumato.dp.mechanisms.releases import gaussian as gaussian
    from sfumato.dp.mechanisms.releases import geometric as geometric
    from sfumato.dp.mechanisms.releases import laplace as laplace
    from sfumato.dp.mechanisms.releases import median as median
    from sfumato.dp.mechanisms.releases import permute_and_flip as permute_and_flip
    from sfumato.dp.mechanisms.releases import price as price
    from sfumato.dp.mechanisms.releases import quantile as quantile
    from sfumato.dp.mechanisms.releases import quantiles as quantiles
    from sfumato.dp.mechanisms.releases import randomized_response as randomized_response
    from sfumato.dp.mechanisms.releases import report_noisy_max as report_noisy_max
    from sfumato.dp.mechanisms.releases import top1 as top1
    from sfumato.dp.neighbours import BOUNDED as BOUNDED
    from sfumato.dp.neighbours import UNBOUNDED as UNBOUNDED
    from sfumato.dp.neighbours import Customer as Customer
    from sfumato.dp.neighbours import Edge as Edge
    from sfumato.dp.neighbours import Group as Group
    from sfumato.dp.neighbours import Item as Item
    from sfumato.dp.neighbours import Neighbours as Neighbours
    from sfumato.dp.neighbours import Node as Node
    from sfumato.dp.neighbours import Person as Person
    from sfumato.dp.neighbours import Row as Row
    from sfumato.dp.neighbours import Transaction as Transaction
    from sfumato.dp.neighbours import Tree as Tree
    from sfumato.dp.neighbours import Unit as Unit
    from sfumato.dp.neighbours import Vertex as Vertex
    from sfumato.dp.planning import Ask as Ask
    from sfumato.dp.planning import Plan as Plan
    from sfumato.dp.planning import plan as plan
    from sfumato.dp.publish.arrays import count as count
    from sfumato.dp.publish.arrays import max as max
    from sfumato.dp.publish.arrays import mean as mean
    from sfumato.dp.publish.arrays import min as min
    from sfumato.dp.publish.arrays import std as std
    from sfumato.dp.publish.arrays import sum as sum
    from sfumato.dp.publish.arrays import var as var
    from sfumato.dp.publish.forecast import Forecast as Forecast
    from sfumato.dp.publish.generalized import SamplePlan as SamplePlan
    from sfumato.dp.publish.generalized import count_generalized as count_generalized
    from sfumato.dp.publish.generalized import plan_sample as plan_sample
    from sfumato.dp.publish.histogram import NoisyHistogram as NoisyHistogram
    from sfumato.dp.publish.histogram import histogram as histogram
    from sfumato.dp.publish.kmeans.estimator import KMeans as KMeans
    from sfumato.dp.publish.ranges.ordered import OrderedHistogram as OrderedHistogram
    from sfumato.dp.publish.ranges.ordered import forecast_ordered as forecast_ordered
    from sfumato.dp.publish.ranges.ordered import ordered_histogram as ordered_histogram
    from sfumato.dp.publish.ranges.spatial import SpatialHistogram as SpatialHistogram
    from sfumato.dp.publish.ranges.spatial import forecast_spatial as forecast_spatial
    from sfumato.dp.publish.ranges.spatial import spatial_histogram as spatial_histogram
    from sfumato.dp.publish.synthesis.any_shape import predict_synthesis as predict_synthesis
    from sfumato.dp.publish.synthesis.any_shape import synthesize as synthesize
    from sfumato.dp.publish.synthesis.columns import Column as Column
    from sfumato.dp.publish.synthesis.comparison import (
        compare_with_original as compare_with_original,
    )
    from sfumato.dp.publish.synthesis.graphs import synthesize_graph as synthesize_graph
    from sfumato.dp.publish.synthesis.prediction import predict_graph as predict_graph
    from sfumato.dp.publish.synthesis.prediction import predict_sets as predict_sets
    from sfumato.dp.publish.synthesis.prediction import predict_trajectories as predict_trajectories
    from sfumato.dp.publish.synthesis.sets import synthesize_sets as synthesize_sets
    from sfumato.dp.publish.synthesis.trajectories import (
        synthesize_trajectories as synthesize_trajectories,
    )
    from sfumato.dp.publish.topk.choice_of_way import TopKPlan as TopKPlan
    from sfumato.dp.publish.topk.release import TopK as TopK
    from sfumato.dp.publish.topk.release import plan_top_k as plan_top_k
    from sfumato.dp.publish.topk.release import top_k as top_k
    from sfumato.dp.publish.topk.union import SetUnion as SetUnion
    from sfumato.dp.publish.topk.union import UnionPlan as UnionPlan
    from sfumato.dp.publish.topk.union import plan_union as plan_union
    from sfumato.dp.publish.topk.union import select_partitions as select_partitions
    from sfumato.dp.publish.topk.union import set_union as set_union
    from sfumato.dp.queries.base import Query as Query
    from sfumato.dp.queries.base import Sensitivity as Sensitivity
    from sfumato.dp.queries.base import sensitivity as sensitivity
    from sfumato.dp.queries.exact_sum import GridSum as GridSum
    from sfumato.dp.queries.graphs import DegreeCount as DegreeCount
    from sfumato.dp.queries.graphs import EdgeCount as EdgeCount
    from sfumato.dp.queries.graphs import TriangleCount as TriangleCount
    from sfumato.dp.queries.grouped import Counts as Counts
    from sfumato.dp.queries.grouped import GroupedSum as GroupedSum
    from sfumato.dp.queries.grouped import Histogram as Histogram
    from sfumato.dp.queries.grouped import Several as Several
    from sfumato.dp.queries.grouped import VectorMean as VectorMean
    from sfumato.dp.queries.grouped import VectorSum as VectorSum
    from sfumato.dp.queries.local import LocalSensitivity as LocalSensitivity
    from sfumato.dp.queries.local import local_sensitivity as local_sensitivity
    from sfumato.dp.queries.nested import ItemCount as ItemCount
    from sfumato.dp.queries.nested import ItemsetSupport as ItemsetSupport
    from sfumato.dp.queries.nested import LabelCount as LabelCount
    from sfumato.dp.queries.nested import TreeCount as TreeCount
    from sfumato.dp.queries.order import Max as Max
    from sfumato.dp.queries.order import Median as Median
    from sfumato.dp.queries.order import Min as Min
    from sfumato.dp.queries.order import Quantile as Quantile
    from sfumato.dp.queries.tables import Count as Count
    from sfumato.dp.queries.tables import DistinctCount as DistinctCount
    from sfumato.dp.queries.tables import Mean as Mean
    from sfumato.dp.queries.tables import Sum as Sum
    from sfumato.dp.queries.tables import Variance as Variance
    from sfumato.dp.tradeoff import Pair as Pair
    from sfumato.dp.tradeoff import geometric_pair as geometric_pair
    from sfumato.dp.tradeoff import trade_off_of as trade_off_of

_HOME = {
    "AboveThreshold": "mechanisms.above_threshold",
    "Account": "accounting.accountants",
    "AdditiveClassifier": "learn.additive",
    "AdditiveRegressor": "learn.additive",
    "ApproxDP": "guarantees",
    "Ask": "planning",
    "BOUNDED": "neighbours",
    "Calibration": "calibration",
    "Column": "publish.synthesis.columns",
    "Count": "queries.tables",
    "Counts": "queries.grouped",
    "Customer": "neighbours",
    "DegreeCount": "queries.graphs",
    "DiscreteGaussian": "mechanisms.gaussian",
    "DistinctCount": "queries.tables",
    "Edge": "neighbours",
    "EdgeCount": "queries.graphs",
    "Error": "mechanisms.base",
    "Explanation": "explanation",
    "Exponential": "mechanisms.exponential",
    "ExponentialQuantile": "mechanisms.quantiles",
    "Forecast": "publish.forecast",
    "GDP": "guarantees",
    "Gaussian": "mechanisms.gaussian",
    "Geometric": "mechanisms.laplace",
    "GridSum": "queries.exact_sum",
    "Group": "neighbours",
    "GroupedSum": "queries.grouped",
    "Guarantee": "guarantees",
    "Histogram": "queries.grouped",
    "Item": "neighbours",
    "ItemCount": "queries.nested",
    "ItemsetSupport": "queries.nested",
    "KMeans": "publish.kmeans.estimator",
    "LabelCount": "queries.nested",
    "Laplace": "mechanisms.laplace",
    "LinearRegression": "learn.linear",
    "LocalDP": "guarantees",
    "LocalSensitivity": "queries.local",
    "LogisticRegression": "learn.logistic",
    "Max": "queries.order",
    "Mean": "queries.tables",
    "Mechanism": "mechanisms.base",
    "Median": "queries.order",
    "Min": "queries.order",
    "NaiveBayes": "learn.naive_bayes",
    "Neighbours": "neighbours",
    "Node": "neighbours",
    "NoisyHistogram": "publish.histogram",
    "OrderedHistogram": "publish.ranges.ordered",
    "PCA": "learn.pca",
    "Pair": "tradeoff",
    "Part": "accounting.disjoint",
    "PermuteAndFlip": "mechanisms.permute_and_flip",
    "Person": "neighbours",
    "Plan": "planning",
    "Pricing": "mechanisms.pricing",
    "PureDP": "guarantees",
    "Quantile": "queries.order",
    "Query": "queries.base",
    "RDP": "guarantees",
    "RandomizedResponse": "mechanisms.randomized_response",
    "ReportNoisyMax": "mechanisms.noisy_max",
    "Row": "neighbours",
    "Sensitivity": "queries.base",
    "Several": "queries.grouped",
    "SetUnion": "publish.topk.union",
    "SpatialHistogram": "publish.ranges.spatial",
    "Step": "accounting.steps",
    "Sum": "queries.tables",
    "TopK": "publish.topk.release",
    "TopKPlan": "publish.topk.choice_of_way",
    "Training": "learn.sgd.training",
    "Transaction": "neighbours",
    "Tree": "neighbours",
    "TreeCount": "queries.nested",
    "TriangleCount": "queries.graphs",
    "UNBOUNDED": "neighbours",
    "UnionPlan": "publish.topk.union",
    "Unit": "neighbours",
    "Variance": "queries.tables",
    "VectorMean": "queries.grouped",
    "VectorSum": "queries.grouped",
    "Vertex": "neighbours",
    "ZCDP": "guarantees",
    "above_threshold": "mechanisms.releases",
    "account": "accounting.accountants",
    "amplify": "accounting.subsampling",
    "calibrate": "calibration",
    "compare_with_original": "publish.synthesis.comparison",
    "compose_advanced": "accounting.advanced",
    "SamplePlan": "publish.generalized",
    "count": "publish.arrays",
    "count_generalized": "publish.generalized",
    "plan_sample": "publish.generalized",
    "max": "publish.arrays",
    "mean": "publish.arrays",
    "min": "publish.arrays",
    "std": "publish.arrays",
    "sum": "publish.arrays",
    "var": "publish.arrays",
    "select_partitions": "publish.topk.union",
    "compose_parts": "accounting.disjoint",
    "discrete_gaussian": "mechanisms.releases",
    "explain": "explanation",
    "exponential": "mechanisms.releases",
    "forecast_ordered": "publish.ranges.ordered",
    "forecast_spatial": "publish.ranges.spatial",
    "gaussian": "mechanisms.releases",
    "geometric": "mechanisms.releases",
    "geometric_pair": "tradeoff",
    "histogram": "publish.histogram",
    "laplace": "mechanisms.releases",
    "local_sensitivity": "queries.local",
    "median": "mechanisms.releases",
    "ordered_histogram": "publish.ranges.ordered",
    "pair_of": "losses",
    "permute_and_flip": "mechanisms.releases",
    "plan": "planning",
    "predict_graph": "publish.synthesis.prediction",
    "predict_sets": "publish.synthesis.prediction",
    "predict_synthesis": "publish.synthesis.any_shape",
    "predict_trajectories": "publish.synthesis.prediction",
    "plan_top_k": "publish.topk.release",
    "plan_union": "publish.topk.union",
    "price": "mechanisms.releases",
    "quantile": "mechanisms.releases",
    "quantiles": "mechanisms.releases",
    "randomized_response": "mechanisms.releases",
    "read_model": "learn.artefact",
    "read_network": "learn.sgd.artefact",
    "report_noisy_max": "mechanisms.releases",
    "sensitivity": "queries.base",
    "synthesize": "publish.synthesis.any_shape",
    "synthesize_graph": "publish.synthesis.graphs",
    "synthesize_sets": "publish.synthesis.sets",
    "synthesize_trajectories": "publish.synthesis.trajectories",
    "set_union": "publish.topk.union",
    "spatial_histogram": "publish.ranges.spatial",
    "top1": "mechanisms.releases",
    "top_k": "publish.topk.release",
    "trade_off_of": "tradeoff",
    "train": "learn.sgd.training",
}
_ROOMS = ("accounting", "guarantees", "mechanisms", "neighbours", "noise", "queries", "rounding")

__all__ = [*sorted(_HOME), *_ROOMS]  # noqa: PLE0604 - names of strings, computed

if not TYPE_CHECKING:  # a name that is not listed is a slip
    __getattr__, __dir__ = lazy_names(__name__, _HOME, _ROOMS)
