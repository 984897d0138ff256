/**
 * Environment of a job that runs from a Flutter SDK: that is a checkout of git, which refuses to read one that belongs to another account than
 * the job's.
 */
export const trustGit = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: '*' }
