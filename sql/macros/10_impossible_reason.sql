-- impossible_reason(speedup, accept length, batch size): why the two runs cannot have been the same experiment.
CREATE OR REPLACE MACRO impossible_reason(speedup, tau, batch_size) AS
    format(
        'impossible: {:.2f}x faster at batch size {} with accept length {:.2f}; a speculative round cannot be shorter than a plain step',
        speedup, batch_size, tau
    );
