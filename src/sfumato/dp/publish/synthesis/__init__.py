"""Synthetic data: records that follow noisy tables of the real ones, and may be given away.

One engine serves every shape. A *codec* turns a table, a set of baskets or of trips into rows of
small whole numbers over public columns; the engine measures noisy tables of them and fits a
cloud of records to these; the codec turns the cloud back.

    domain.py       public columns, as the engine sees them
    curator.py      the only place where exact tables meet noise, and the book of what it cost
    currencies.py   what noise costs: concentrated (Gaussian) or pure (geometric)
    coarsening.py   from noisy counts to atoms: pieces, groups and levels
    particles.py    the cloud: raking, resampling, Gibbs sweeps; kernels.py its loops
    rules.py        combinations that cannot be, kept without exception
    engine.py       measure → fit → sample
    columns.py, table_codec.py, tables.py     tables of people
    sets.py, trajectories.py, graphs.py       the other shapes
"""
