/** Environment variables for a job that runs from a Flutter SDK, which is a Git checkout. Git rejects repositories owned by another account. */
export const trustGit = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: '*' }
