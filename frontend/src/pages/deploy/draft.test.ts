import { describe, expect, it } from 'vitest';

import { draftFromSpec, EMPTY_DRAFT, fieldProblems, formatScalar, formProblems, parseScalar, problemsOfUnchangedFields, specFromDraft, suggestJobName, type Draft } from './draft';

describe('parameters', () => {
  it.each([
    ['5', 5], ['-0.5', -0.5], ['1e3', 1000], ['true', true], ['false', false], ['5 min', '5 min'], ['"5"', '5'], ['007', '007'], ['', ''],
    ['12345678901234567890', '12345678901234567890'], ['/data/in', '/data/in'],
  ])('the parameter text %s is parsed as %j', (typed, value) => expect(parseScalar(typed)).toBe(value));

  it.each([5, -0.5, true, '5', 'true', '5 min', '', '007'])('the parameter %j is formatted as text that is parsed to the same value', (value) => expect(parseScalar(formatScalar(value))).toBe(value));
});

describe('a version', () => {
  const typed = { ...EMPTY_DRAFT, name: 'a', parallelism: '4', interval: '', parameters: [{ name: ' window ', value: '5' }, { name: '', value: '' }] };

  it('a version is built from the form values', () => {
    expect(specFromDraft(typed, 'ab')).toEqual({ artifact: 'ab', entry: 'job', parallelism: 4, parameters: { window: 5 }, checkpointing: { interval: 'none', timeout: '10m', min_pause: '0s', tolerable_failed_checkpoints: 3, retained: 3 }, timeouts: { heartbeat: '5s', stuck: '60s', call: '10m', slots: 'none', deploy: '60s', cancel: '3s', connect: '60s' }, network_memory: '256MiB', buffer_timeout: 'adaptive', recovery: 'regional' });
  });

  it.each([
    [{ timeout: ' 90s ', minPause: '5s', tolerable: '0' }, { timeout: '90s', min_pause: '5s', tolerable_failed_checkpoints: 0 }],
    [{ minPause: '', tolerable: ' ' }, { timeout: '10m', min_pause: '0s', tolerable_failed_checkpoints: null }],
  ])('the checkpoint limits %o are converted to a version and back', (change, limits) => {
    const body = specFromDraft({ ...typed, ...change }, 'ab');
    expect(body.checkpointing).toMatchObject(limits);
    expect(specFromDraft(draftFromSpec({ name: 'a', description: '' }, body), 'ab').checkpointing).toEqual(body.checkpointing);
  });

  it('timeouts, network memory, buffer timeout and recovery keep their values when a draft is converted to a version and back', () => {
    const body = specFromDraft({ ...typed, slotsTimeout: ' 1h ', deployTimeout: '5m', networkMemory: '1GiB', bufferTimeout: '5ms', recovery: 'full' }, 'ab');
    expect(body).toMatchObject({ timeouts: { slots: '1h', deploy: '5m', heartbeat: '5s' }, network_memory: '1GiB', buffer_timeout: '5ms', recovery: 'full' });
    expect(specFromDraft(draftFromSpec({ name: 'a', description: '' }, body), 'ab')).toEqual(body);
  });

  it('settings without a form field have the same values as in the previous version', () => {
    const before = { artifact: 'old', spares: 2, spark_conf: { 'spark.a': '1' }, checkpointing: { interval: '20s', retained: 9, directory: 's3://a' }, parameters: { removed: 1 } };
    expect(specFromDraft(typed, 'ab', before)).toMatchObject({ spares: 2, spark_conf: { 'spark.a': '1' }, checkpointing: { interval: 'none', retained: 3, directory: 's3://a' }, parameters: { window: 5 } });
  });

  it('a version is converted to form values', () => {
    const draft = draftFromSpec({ name: 'a', description: 'd' }, specFromDraft(typed, 'ab'));
    expect(draft).toEqual({ ...typed, description: 'd', parameters: [{ name: 'window', value: '5' }] });
  });
});

describe('form problems', () => {
  const fine = { ...EMPTY_DRAFT, name: 'a' };
  const check = (change: Partial<Draft>, file: string | null = 'a.py', hasFile = false) => formProblems({ ...fine, ...change }, { file: file === null ? null : { name: file }, hasFile });

  it('a valid form has no problems', () => expect([check({}), check({}, null, true)]).toEqual([{}, {}]));
  it('a missing or invalid file is reported at its field', () => {
    expect(check({}, null).file).toMatch(/^Choose a .py/);
    expect(check({}, 'a b.py').file).toMatch(/must end in \.py/);
  });
  it.each([
    [{ name: ' ' }, 'name'], [{ name: 'a b' }, 'name'], [{ parallelism: '0' }, 'parallelism'], [{ parallelism: '2.5' }, 'parallelism'], [{ retained: '1001' }, 'retained'],
    [{ interval: '10' }, 'interval'], [{ timeout: '' }, 'timeout'], [{ minPause: 'soon' }, 'minPause'], [{ tolerable: '-1' }, 'tolerable'], [{ tolerable: '1001' }, 'tolerable'],
    [{ slotsTimeout: '' }, 'slotsTimeout'], [{ heartbeatTimeout: 'none' }, 'heartbeatTimeout'], [{ deployTimeout: '5' }, 'deployTimeout'], [{ networkMemory: '256' }, 'networkMemory'],
    [{ entry: 'a b' }, 'entry'], [{ parameters: [{ name: '5', value: '' }] }, 'parameters.5'], [{ parameters: [{ name: 'a', value: '1' }, { name: 'a', value: '2' }] }, 'parameters.a'],
  ])('the invalid values %o are reported at their field', (change, field) => expect(Object.keys(check(change))).toEqual([field]));
  it.each([{ minPause: '0s' }, { minPause: '' }, { interval: '', minPause: '1h' }, { tolerable: '0' }, { tolerable: '' }, { timeout: '10000h' }])(
    'the valid values %o are accepted', (change) => expect(check(change)).toEqual({}),
  );
  it('field errors of the API are reported at the form fields', () => {
    const refused = (errors: Record<string, string>) => fieldProblems({ code: 'invalid', message: '', body: { errors } });
    expect(refused({ 'spec.parallelism': 'too many', odd: 'x' })).toEqual({ parallelism: 'too many' });
    expect(refused({
      'spec.checkpointing.interval': 'a', 'spec.checkpointing.timeout': 'b', 'spec.checkpointing.min_pause': 'c', 'spec.checkpointing.tolerable_failed_checkpoints': 'd',
    })).toEqual({ interval: 'a', timeout: 'b', minPause: 'c', tolerable: 'd' });
    expect(refused({ 'spec.parameters.b': 'too long', 'spec.parameters.c.[key]': 'a secret' })).toEqual({ 'parameters.b': 'too long', 'parameters.c': 'a secret' });
    expect(fieldProblems({ code: 'name-taken', message: 'The name is taken.', body: {} })).toEqual({ name: 'The name is taken.' });
  });
});

it('errors of changed fields and parameters are hidden until the next request', () => {
  const sent = { ...EMPTY_DRAFT, name: 'a', parameters: [{ name: 'b', value: '1' }], file: null };
  const problems = { name: 'taken', entry: 'unknown', 'parameters.b': 'too long' };
  expect(problemsOfUnchangedFields(problems, sent, { ...sent })).toEqual(problems);
  expect(problemsOfUnchangedFields(problems, sent, { ...sent, name: 'b' })).toEqual({ entry: 'unknown', 'parameters.b': 'too long' });
  expect(problemsOfUnchangedFields(problems, sent, { ...sent, parameters: [{ name: 'b', value: '2' }] })).toEqual({ name: 'taken', entry: 'unknown' });
});

it('a job name is suggested from the name of the file', () => expect(['route_delays.py', 'My.Job-1.whl'].map(suggestJobName)).toEqual(['route-delays', 'my-job-1']));
