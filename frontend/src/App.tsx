import { QueryClient } from '@tanstack/react-query';
import { Admin, localStorageStore, Resource } from 'react-admin';
import { BrowserRouter, Route } from 'react-router-dom';

import { ApiProblem } from './api/problem';
import { RequireSession } from './auth/RequireSession';
import { authProvider } from './auth/authProvider';
import { AccessDenied } from './auth/AccessDenied';
import { dataProvider } from './data/dataProvider';
import { Layout } from './layout/Layout';
import { darkTheme, lightTheme } from './theme/theme';
import { adminResources } from './pages/admin';
import { DeployPage, NewVersionPage, ReviewPage } from './pages/deploy/lazy';
import { Home } from './pages/home';
import { JobPage } from './pages/job';
import { JobList } from './pages/jobs';
import { LoginPage } from './pages/login';
import { NotFoundPage } from './pages/NotFoundPage';

/** The version of the data in the browser's store (theme, columns). Increase this version when the format of the data changes. */
const STORE_VERSION = '1';
const RETRIES_MAX = 2;

export function newQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        // Streams invalidate stale data (live/invalidation.ts), so a window that gets the focus need not refetch data.
        refetchOnWindowFocus: false,
        // Retry a request if the API failed or did not respond. Do not retry a refused request, because the API would refuse it again.
        retry: (failed, error) => failed < RETRIES_MAX && error instanceof ApiProblem && (error.unreachable || error.status >= 500),
        staleTime: 5_000,
      },
    },
  });
}

export function App({ queryClient }: { queryClient: QueryClient }) {
  return (
    <BrowserRouter>
      <RequireSession>
        <Admin
          title="Weir"
          authProvider={authProvider}
          dataProvider={dataProvider}
          queryClient={queryClient}
          store={localStorageStore(STORE_VERSION, 'weir')}
          layout={Layout}
          loginPage={LoginPage}
          accessDenied={AccessDenied}
          catchAll={NotFoundPage}
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
      </RequireSession>
    </BrowserRouter>
  );
}
