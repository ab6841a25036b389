import { QueryClient } from '@tanstack/react-query';
import { Admin, localStorageStore, Resource } from 'react-admin';
import { BrowserRouter, Route } from 'react-router-dom';

import { ApiProblem } from './api/problem';
import { AskFirst } from './auth/AskFirst';
import { authProvider } from './auth/authProvider';
import { Denied } from './auth/Denied';
import { dataProvider } from './data/dataProvider';
import { Layout } from './layout/Layout';
import { darkTheme, lightTheme } from './look/theme';
import { adminResources } from './pages/admin';
import { DeployPage, NewVersionPage, ReviewPage } from './pages/deploy/lazy';
import { Home } from './pages/home';
import { JobPage } from './pages/job';
import { JobList } from './pages/jobs';
import { LogIn } from './pages/login';
import { Nowhere } from './pages/Nowhere';

/** Bumped when what is kept in browsers (theme, columns) changes its form. */
const STORE_VERSION = '1';
const TRIES = 2;

export function newQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        // Streams say what is out of date (live/refresh.ts): coming back to a window asks for nothing again.
        refetchOnWindowFocus: false,
        // What was refused stays refused; who did not answer may.
        retry: (failed, error) => failed < TRIES && error instanceof ApiProblem && (error.unreachable || error.status >= 500),
        staleTime: 5_000,
      },
    },
  });
}

export function App({ queryClient }: { queryClient: QueryClient }) {
  return (
    <BrowserRouter>
      <AskFirst>
        <Admin
          title="Weir"
          authProvider={authProvider}
          dataProvider={dataProvider}
          queryClient={queryClient}
          store={localStorageStore(STORE_VERSION, 'weir')}
          layout={Layout}
          loginPage={LogIn}
          accessDenied={Denied}
          catchAll={Nowhere}
          dashboard={Home}
          theme={lightTheme}
          darkTheme={darkTheme}
          requireAuth
          disableTelemetry
        >
          <Resource name="jobs" list={JobList} recordRepresentation="name">
            <Route path="deploy" element={<DeployPage />} />
            <Route path=":jobId/new-version" element={<NewVersionPage />} />
            <Route path=":jobId/review/:version" element={<ReviewPage />} />
            <Route path=":jobId/*" element={<JobPage />} />
          </Resource>
          {adminResources}
        </Admin>
      </AskFirst>
    </BrowserRouter>
  );
}
